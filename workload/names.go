package workload

import "strings"

// Lists of common words from which documents are made.

var firstNames = strings.Fields(`
Aaron Ada Adam Adele Adrian Agnes Aisha Alan Albert Alexa Alfred Alice Alina Alma Amal Amanda Amber Amelia Amina Amir
Amy Ana Anders Andrea Andrew Angela Anika Anita Anna Anton Antonia April Arjun Arthur Astrid Audrey Aurora Barbara Beatrice
Ben Bernard Bianca Boris Brenda Brian Bruno Camila Carl Carla Carmen Carol Caroline Cecilia Celia Charles Charlotte Chen
Chiara Chloe Christian Clara Claire Conrad Cora Cyril Daisy Dana Daniel Daphne Daria David Dean Deborah Denise Dennis Diana
Diego Dolores Dominic Dora Doris Dorothy Douglas Dylan Edgar Edith Edward Edwin Eileen Elena Eli Elias Elisa Elizabeth Ella
Ellen Elsa Emil Emilia Emily Emma Enzo Eric Erica Ernest Esther Ethan Eugene Eva Evan Evelyn Fabian Farah Fatima Felix Fiona
Flora Florence Frances Francis Frank Fred Frida Gabriel Gemma George Gerald Gina Giulia Gloria Grace Greta Gustav Hanna
Harold Harriet Harry Hassan Hazel Heidi Helen Helena Henry Hilda Hiro Hugo Ian Ibrahim Ida Ines Ingrid Irene Iris Isaac
Isabel Isla Ivan Ivy Jack Jacob Jade Jakob James Jan Jana Jane Jasmine Jason Javier Jean Jeremy Jesse Jill Joan Joel Johan
John Jonas Jordan Jorge Joseph Josephine Joshua Joy Juan Judith Julia Julian June Karen Karim Karl Kate Katherine Keiko
Keith Kenneth Kevin Kim Kurt Laila Lara Laura Lea Leila Lena Leo Leon Leona Lewis Liam Lila Lily Linda Lisa Logan Louis
Louise Luca Lucas Lucia Lucy Luis Luna Lydia Mabel Magnus Maja Manuel Marcel Marco Margaret Maria Marian Marie Marina Mario
Mark Marta Martha Martin Mary Mateo Matilda Matthew Maurice Max Maya Megan Mei Melanie Michael Miguel Mila Milan Miles Milo
Mina Miriam Mohamed Mona Monica Morgan Nadia Naomi Natalie Nathan Neil Nellie Nicholas Nicole Nina Noah Noor Nora Norman
Oliver Olivia Omar Oscar Otto Owen Pablo Paige Pamela Patricia Patrick Paul Paula Pauline Pedro Penelope Peter Petra Philip
Phoebe Pia Priya Quentin Rachel Rafael Rahul Ralph Raymond Rebecca Regina Rhea Ricardo Richard Rita Robert Robin Roland Rosa
Rose Roy Ruben Ruby Rupert Ruth Ryan Sabine Sally Salma Samir Samuel Sandra Sanjay Sara Saul Sean Selma Serena Sergio Shirley
Silvia Simon Simone Sofia Sonia Sophie Stefan Stella Stephen Susan Sven Sylvia Tamara Tara Teresa Theo Theresa Thomas Tim
Tina Tobias Tom Tomas Ursula Valentin Valerie Vera Veronica Victor Victoria Viktor Vincent Viola Violet Vivian Walter Wanda
Wendy Wilhelm William Xavier Yara Yasmin Yusuf Yvonne Zara Zoe`)

var lastNames = strings.Fields(`
Abbott Adams Adler Ahmed Alexander Ali Allen Alvarez Andersen Anderson Andrews Archer Armstrong Arnold Atkinson Bailey Baker
Baldwin Ball Barker Barnes Barrett Bauer Becker Bell Benitez Bennett Berger Bishop Black Blair Blake Bond Booth Bowman Boyd
Bradley Brady Brandt Brennan Briggs Brooks Brown Bryant Burke Burns Burton Butler Byrne Calderon Campbell Carlson Carpenter
Carr Carter Castillo Castro Chambers Chan Chandra Chang Chapman Chavez Chen Christensen Clark Clarke Cohen Cole Coleman
Collins Conti Cook Cooper Costa Cox Craig Crawford Cruz Cunningham Curtis Dahl Dalton Daniels Davidson Davies Davis Dawson
Dean Delgado Diaz Dixon Dominguez Douglas Doyle Duncan Dunn Edwards Eklund Elliott Ellis Engel Espinoza Evans Farrell Ferguson
Fernandez Ferrari Fischer Fisher Fleming Fletcher Flores Ford Foster Fowler Fox Francis Franklin Fraser Freeman Fuchs Fuller
Garcia Gardner Garrett George Gibson Gilbert Gomez Gonzalez Goodwin Gordon Graham Grant Gray Green Greene Griffin Gupta
Gutierrez Haas Hall Hamilton Hansen Hanson Harper Harris Harrison Hart Harvey Hawkins Hayes Henderson Henry Hernandez Herrera
Hicks Hill Hoffman Holland Holm Holmes Hopkins Horvat Howard Huang Hudson Hughes Hunt Hunter Hussain Ibrahim Ito Ivanov Jackson
Jacobs Jain James Janssen Jensen Jimenez Johansson Johnson Johnston Jones Jordan Joshi Kaiser Kane Kang Kaplan Kaur Keller
Kelly Kennedy Khan Kim King Klein Knight Koch Kovacs Kowalski Kraus Kumar Lambert Lane Lang Larsen Larson Lawrence Lawson Lee
Lehmann Lewis Li Lin Lindberg Liu Logan Long Lopez Lowe Lynch Mackenzie Maier Marino Marsh Marshall Martin Martinez Mason
Matthews Maxwell May McCarthy McDonald McKay Medina Mehta Mendoza Meyer Miller Mills Mitchell Molina Moore Morales Moran
Moreno Morgan Morris Morrison Moser Murphy Murray Myers Nakamura Navarro Nelson Neumann Newman Nguyen Nichols Nielsen Nolan
Norman Novak OBrien Olsen Olson Ortega Ortiz Osborne Owens Palmer Park Parker Patel Patterson Payne Pearson Perez Perkins
Perry Peters Petersen Peterson Petrov Phillips Pierce Popov Porter Powell Price Quinn Rahman Ramirez Ramos Reed Reid Reyes
Reynolds Rice Richards Richardson Richter Rivera Roberts Robertson Robinson Rodriguez Rogers Romano Romero Rose Ross Rossi
Russell Ryan Saito Salazar Sanchez Sanders Santos Sato Schmidt Schneider Schroeder Schulz Schwartz Scott Shah Sharma Shaw
Silva Simmons Simpson Singh Smith Snyder Sokolov Sousa Spencer Stein Stephens Stevens Stewart Stone Sullivan Suzuki Svensson
Tanaka Taylor Thomas Thompson Torres Tran Tucker Turner Vargas Vasquez Vega Vogel Wagner Walker Wallace Walsh Wang Ward Warren
Watanabe Watson Weaver Webb Weber Wei Weiss Wells West Wheeler White Williams Wilson Winter Wolf Wong Wood Wright Wu Yamamoto
Yang Young Zhang Zhou Zimmermann`)

// cities pairs each city with its country, separated by a slash.
var cities = splitPairs(`Amsterdam/NL Ankara/TR Antwerp/BE Athens/GR Atlanta/US Auckland/NZ Austin/US Baltimore/US Bangkok/TH
Barcelona/ES Basel/CH Belfast/GB Belgrade/RS Bergen/NO Berlin/DE Bern/CH Bilbao/ES Birmingham/GB Bologna/IT Bordeaux/FR
Boston/US Bratislava/SK Bremen/DE Brisbane/AU Bristol/GB Brno/CZ Brussels/BE Bucharest/RO Budapest/HU Cairo/EG Calgary/CA
Cardiff/GB Casablanca/MA Chennai/IN Chicago/US Cleveland/US Cologne/DE Copenhagen/DK Cordoba/AR Cork/IE Dakar/SN Dallas/US
Delhi/IN Denver/US Detroit/US Dresden/DE Dublin/IE Durban/ZA Edinburgh/GB Essen/DE Florence/IT Frankfurt/DE Fukuoka/JP
Gdansk/PL Geneva/CH Genoa/IT Ghent/BE Glasgow/GB Gothenburg/SE Graz/AT Guadalajara/MX Hamburg/DE Hanoi/VN Hanover/DE
Helsinki/FI Houston/US Istanbul/TR Izmir/TR Jakarta/ID Kampala/UG Kansas/US Kobe/JP Krakow/PL Kyoto/JP Lagos/NG Lahore/PK
Lausanne/CH Leeds/GB Leipzig/DE Lille/FR Lima/PE Linz/AT Lisbon/PT Liverpool/GB Ljubljana/SI Lodz/PL London/GB Lyon/FR
Madrid/ES Malaga/ES Malmo/SE Manchester/GB Manila/PH Marseille/FR Medellin/CO Melbourne/AU Memphis/US Miami/US Milan/IT
Minneapolis/US Montevideo/UY Montreal/CA Mumbai/IN Munich/DE Nagoya/JP Nairobi/KE Nantes/FR Naples/IT Nashville/US Nice/FR
Nuremberg/DE Oakland/US Odense/DK Orlando/US Osaka/JP Oslo/NO Ottawa/CA Palermo/IT Paris/FR Perth/AU Philadelphia/US
Phoenix/US Pilsen/CZ Pittsburgh/US Porto/PT Portland/US Poznan/PL Prague/CZ Pune/IN Quebec/CA Quito/EC Recife/BR Riga/LV
Rome/IT Rotterdam/NL Salzburg/AT Santiago/CL Sapporo/JP Seattle/US Seoul/KR Seville/ES Singapore/SG Sofia/BG Split/HR
Stockholm/SE Strasbourg/FR Stuttgart/DE Sydney/AU Taipei/TW Tallinn/EE Tampere/FI Tokyo/JP Toronto/CA Toulouse/FR
Trieste/IT Tunis/TN Turin/IT Turku/FI Uppsala/SE Utrecht/NL Valencia/ES Vancouver/CA Venice/IT Vienna/AT Vilnius/LT
Warsaw/PL Wellington/NZ Winnipeg/CA Wroclaw/PL Yokohama/JP Zagreb/HR Zaragoza/ES Zurich/CH`)

type pair struct{ first, second string }

func splitPairs(list string) []pair {
	words := strings.Fields(list)
	pairs := make([]pair, len(words))
	for i, w := range words {
		pairs[i].first, pairs[i].second, _ = strings.Cut(w, "/")
	}
	return pairs
}
